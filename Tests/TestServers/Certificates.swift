import Glibc

/// Certificates for one test: an authority, and a server and a client that it has signed.
package final class Certificates {
    /// Whether the program that creates certificates is installed.
    package static let canMake = access("/usr/bin/openssl", X_OK) == 0

    private let folder: String

    /// The certificate of the authority.
    package var authority: String { folder + "/ca.pem" }
    /// The certificate of the server, for `localhost` and 127.0.0.1.
    package var server: String { folder + "/server.pem" }
    /// The key of the server.
    package var serverKey: String { folder + "/server.key" }
    /// The certificate of the client.
    package var client: String { folder + "/client.pem" }
    /// The key of the client.
    package var clientKey: String { folder + "/client.key" }

    /// Creates the certificates with `openssl`.
    package init() throws {
        var template = Array("/tmp/moonpool-tls-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
        let script = """
            cd "$0" && exec >log 2>&1
            new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
            $new -x509 -subj /CN=authority -keyout ca.key -out ca.pem -days 2 || exit
            for name in server client; do
                $new -subj /CN=$name -keyout $name.key -out $name.csr || exit
                printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' >$name.ext
                openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile $name.ext \\
                    -out $name.pem -days 2 || exit
            done
            """
        var status: Int32 = -1
        if let shell = NatsServer.spawn(["sh", "-c", script, folder], input: 0) {
            waitpid(shell, &status, 0)
        }
        guard status == 0 else { throw NotMade() }
    }

    deinit {
        _ = NatsServer.spawn(["rm", "-rf", folder], input: 0).map { waitpid($0, nil, 0) }
    }

    private struct NotMade: Error {}
}
