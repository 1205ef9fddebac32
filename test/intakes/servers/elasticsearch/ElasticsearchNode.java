import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One node on 127.0.0.1: ElasticsearchNode PORT FOLDER MODULES [SETTING=VALUE]... Ends with its standard input. */
public class ElasticsearchNode {
    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[1]).toAbsolutePath();
        Files.createDirectories(home.resolve("config"));
        Settings.Builder settings = Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "shieldlog-test")
            .put("node.name", "intake")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("transport.type", "netty4")
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("http.port", arguments[0])
            .put("node.processors", "2")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (String argument : List.of(arguments).subList(3, arguments.length)) {
            String[] parts = argument.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        LogConfigurator.registerErrorListener();
        LogConfigurator.setNodeName("intake");
        LogConfigurator.configureESLogging();
        LogConfigurator.configureWithoutConfig(Settings.builder().put("logger.level", "warn").build());
        PluginsLoader modules = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(Path.of(arguments[2])), Set.of(), Map.of(), false);
        Node node = new Node(new Environment(settings.build(), home.resolve("config")), modules);
        node.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        node.close();
    }
}
