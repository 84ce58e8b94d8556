// Apache Kafka 3.9's own reading and writing of a delegation token in ZooKeeper. Arguments: the secret. On stdin the
// entry's payload; on stdout, a line each: owner, requester, renewers, the three times, the HMAC, the payload as Kafka
// would write it.

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import kafka.server.DelegationTokenManager;
import kafka.zk.DelegationTokenInfoZNode;
import org.apache.kafka.common.security.token.delegation.TokenInformation;

public class Tokens {
    public static void main(String[] arguments) throws Exception {
        TokenInformation token = DelegationTokenInfoZNode.decode(System.in.readAllBytes()).get();
        System.out.println(token.ownerAsString());
        System.out.println(token.tokenRequesterAsString());
        System.out.println(String.join(",", token.renewersAsString()));
        System.out.println(token.issueTimestamp() + " " + token.expiryTimestamp() + " " + token.maxTimestamp());
        System.out.println(Base64.getEncoder().encodeToString(
            DelegationTokenManager.createHmac(token.tokenId(), arguments[0])));
        System.out.println(new String(DelegationTokenInfoZNode.encode(token), StandardCharsets.UTF_8));
    }
}
