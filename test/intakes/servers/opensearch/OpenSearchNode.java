import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/** One node on 127.0.0.1: OpenSearchNode PORT FOLDER [SETTING=VALUE]... Ends with its standard input. */
public class OpenSearchNode {
    private static final class LocalNode extends Node {
        LocalNode(Environment environment, Collection<Class<? extends Plugin>> plugins) {
            super(environment, plugins, true);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[1]).toAbsolutePath();
        Files.createDirectories(home.resolve("config/ingest-user-agent"));
        Settings.Builder settings = Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "shieldlog-test")
            .put("node.name", "intake")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("transport.port", "0")
            .put("http.port", arguments[0])
            .put("node.processors", "2")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        boolean isSecure = false;
        for (String argument : List.of(arguments).subList(2, arguments.length)) {
            String[] parts = argument.split("=", 2);
            settings.put(parts[0], parts[1]);
            isSecure |= parts[0].startsWith("plugins.security.");
        }
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        if (isSecure) plugins.add(plugin("org.opensearch.security.OpenSearchSecurityPlugin"));
        else settings.put("transport.type", "netty4").put("http.type", "netty4");
        plugins.add(plugin("org.opensearch.transport.Netty4Plugin"));
        plugins.add(plugin("org.opensearch.index.mapper.MapperExtrasPlugin"));
        plugins.add(plugin("org.opensearch.ingest.common.IngestCommonPlugin"));
        plugins.add(plugin("org.opensearch.ingest.useragent.IngestUserAgentPlugin"));
        plugins.add(plugin("org.opensearch.script.mustache.MustachePlugin"));
        plugins.add(plugin("org.opensearch.painless.PainlessPlugin"));
        Node node = new LocalNode(new Environment(settings.build(), home.resolve("config")), plugins);
        node.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        node.close();
    }

    private static Class<? extends Plugin> plugin(String name) throws ClassNotFoundException {
        return Class.forName(name).asSubclass(Plugin.class);
    }
}
