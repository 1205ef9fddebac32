import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hive.ql.parse.ParseDriver;

/** Prints the tree of the statement that standard input holds; fails where Hive cannot parse it. */
public class HiveParser {
    public static void main(String[] args) throws Exception {
        String statement = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        System.out.println(new ParseDriver().parse(statement).toStringTree());
    }
}
