import java.io.File;
import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS on one machine: a name node and a data node over a folder, at a port. It ends when its input does. */
public class SmallCluster {
    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        Configuration settings = new Configuration();
        settings.setInt("dfs.replication", 1);
        settings.setInt("dfs.namenode.handler.count", 4);
        MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(settings, folder);
        MiniDFSCluster cluster = builder.nameNodePort(Integer.parseInt(arguments[1])).numDataNodes(1)
            .format(!folder.isDirectory()).build();
        cluster.waitActive();
        System.out.println("ready");
        Scanner input = new Scanner(System.in);
        while (input.hasNextLine()) {
            input.nextLine();
        }
        Runtime.getRuntime().halt(0);
    }
}
