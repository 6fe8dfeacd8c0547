import CCrypto
import Glibc

/// An operator, an account and a user for NATS servers that check signed credentials, for one test.
package final class NatsCredentials {
    private let folder: String
    private let operatorKey = NatsKey(.operator)
    /// JetStream needs an account for the server itself.
    private let system = NatsKey(.account)
    private let account = NatsKey(.account)
    private let user = NatsKey(.user)

    /// The credentials file of the user.
    package var file: String { folder + "/user.creds" }
    /// A credentials file with the right claims, signed by a key that the account does not have.
    package var forgedFile: String { folder + "/forged.creds" }

    /// Creates the keys and files.
    package init() throws {
        var template = Array("/tmp/moonpool-creds-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
        let stranger = NatsKey(.account)
        for (path, signer) in [(file, account), (forgedFile, stranger)] {
            let claims = """
                {"jti":"\(user.name)","iat":1700000000,"iss":"\(signer.name)","name":"ann","sub":"\(user.name)",\
                "nats":{"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}}
                """
            let text = """
                -----BEGIN NATS USER JWT-----
                \(signer.token(claims))
                ------END NATS USER JWT------

                -----BEGIN USER NKEY SEED-----
                \(user.seedText)
                ------END USER NKEY SEED------

                """
            guard let output = fopen(path, "w") else { throw NotWritten(path: path) }
            fputs(text, output)
            fclose(output)
        }
    }

    deinit {
        for path in [file, forgedFile] { unlink(path) }
        rmdir(folder)
    }

    private struct NotWritten: Error {
        let path: String
    }

    /// The configuration of a server that accepts only the user.
    package var configuration: String {
        let operatorClaims = """
            {"jti":"o","iat":1700000000,"iss":"\(operatorKey.name)","name":"o","sub":"\(operatorKey.name)",\
            "nats":{"system_account":"\(system.name)","type":"operator","version":2}}
            """
        return """
            operator: "\(operatorKey.token(operatorClaims))"
            resolver: MEMORY
            resolver_preload: {
              \(system.name): "\(token(of: system, limits: ""))"
              \(account.name): "\(token(of: account, limits: Self.jetStream))"
            }
            """
    }

    private static let jetStream =
        #","mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1"#

    private func token(of account: NatsKey, limits: String) -> String {
        operatorKey.token(
            """
            {"jti":"\(account.name)","iat":1700000000,"iss":"\(operatorKey.name)","name":"a","sub":"\(account.name)",\
            "nats":{"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,\
            "conn":-1,"leaf":-1\(limits)},"default_permissions":{"pub":{},"sub":{}},"type":"account","version":2}}
            """)
    }
}

/// A key pair of NATS: Ed25519, with names in base 32 that begin with the letter of the role.
private struct NatsKey {
    enum Role: UInt8 {
        case `operator` = 112
        case account = 0
        case user = 160
    }

    private let role: Role
    private let seed: [UInt8]

    init(_ role: Role) {
        self.role = role
        seed = (0..<32).map { _ in UInt8.random(in: 0...255) }
    }

    private func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        // Safe because a seed of 32 bytes is a valid private key.
        let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)!
        defer { EVP_PKEY_free(key) }
        return body(key)
    }

    /// The public key as text.
    var name: String {
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        withKey { _ = EVP_PKEY_get_raw_public_key($0, &bytes, &count) }
        return Self.text([role.rawValue] + bytes)
    }

    /// The private key as text.
    var seedText: String {
        Self.text([144 | role.rawValue >> 5, (role.rawValue & 31) << 3] + seed)
    }

    /// A JSON Web Token with these claims, signed by the key.
    func token(_ claims: String) -> String {
        let body = [#"{"typ":"JWT","alg":"ed25519-nkey"}"#, claims]
            .map { Self.base64(Array($0.utf8)) }.joined(separator: ".")
        return body + "." + Self.base64(signature(of: Array(body.utf8)))
    }

    private func signature(of bytes: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        withKey { key in
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            EVP_DigestSignInit(context, nil, nil, nil, key)
            EVP_DigestSign(context, &signature, &count, bytes, bytes.count)
        }
        return signature
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return digits(bytes, bits: 6, letters)
    }

    /// Bytes and their checksum in base 32.
    private static func text(_ bytes: [UInt8]) -> String {
        var checksum: UInt16 = 0
        for byte in bytes {
            checksum ^= UInt16(byte) << 8
            for _ in 0..<8 {
                checksum = checksum & 0x8000 == 0 ? checksum << 1 : checksum << 1 ^ 0x1021
            }
        }
        return digits(
            bytes + [UInt8(checksum & 0xFF), UInt8(checksum >> 8)], bits: 5,
            Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
    }

    private static func digits(_ bytes: [UInt8], bits: Int, _ letters: [Character]) -> String {
        var text = ""
        var buffer = 0
        var held = 0
        for byte in bytes {
            buffer = (buffer << 8 | Int(byte)) & 0xFFFF
            held += 8
            while held >= bits {
                held -= bits
                text.append(letters[buffer >> held & ((1 << bits) - 1)])
            }
        }
        if held > 0 { text.append(letters[buffer << (bits - held) & ((1 << bits) - 1)]) }
        return text
    }
}
