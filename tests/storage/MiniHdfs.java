import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Runs HDFS and WebHDFS on loopback until standard input ends; prints both ports. */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set("hdfs.minidfs.basedir", new File(args[0]).getAbsolutePath());
        conf.setBoolean("dfs.permissions.enabled", false);
        try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build()) {
            cluster.waitActive();
            System.out.println(
                "PORTS " + cluster.getNameNodePort() + " "
                    + cluster.getNameNode().getHttpAddress().getPort());
            while (System.in.read() >= 0) {
            }
        }
    }
}
