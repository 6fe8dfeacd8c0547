import LuaHost
import ObjectStore
import Replication

/// Parses the options of scripts that connect to NATS servers.
package enum NatsArguments {
    /// Throws `invalid_argument` if the script is not allowed to use the network.
    package static func checkAccess(_ state: LuaState) throws {
        guard state.files.isUnlimited else {
            throw StoreError(.invalidArgument, "this script is not allowed to use the network")
        }
    }

    /// Returns the servers and the connection options.
    ///
    /// Throws `invalid_argument` for an option that is missing or has the wrong type.
    package static func servers(_ table: LuaTable) throws -> NatsOptions {
        try servers(TransferOptions(table))
    }

    static func servers(_ given: TransferOptions) throws -> NatsOptions {
        guard let address = try given.text("url") else {
            throw StoreError(
                .invalidArgument,
                "option 'url' is missing; pass the address of a server, such as \"nats://localhost:4222\""
            )
        }
        var options = NatsOptions(address)
        guard !options.servers.isEmpty, options.servers.allSatisfy(NatsOptions.isAddress) else {
            throw StoreError(
                .invalidArgument,
                "expected an address such as nats://host:4222 as 'url', got \"\(address)\"")
        }
        options.credentials = try given.text("credentials")
        options.token = try given.text("token")
        options.user = try given.text("user")
        options.password = try given.text("password")
        options.authority = try given.text("tls_ca")
        let certificate = (try given.text("tls_cert"), try given.text("tls_key"))
        guard (certificate.0 == nil) == (certificate.1 == nil) else {
            throw StoreError(.invalidArgument, "use the options 'tls_cert' and 'tls_key' together")
        }
        if let file = certificate.0, let key = certificate.1 {
            options.certificate = .init(file, key: key)
        }
        return options
    }
}
