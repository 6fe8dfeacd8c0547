import ScriptHost

/// Options of a prompt session.
package struct ReplOptions: Sendable {
    /// The path of the store; nil for an in-memory store named `store`.
    package var storePath: String?
    /// Opens the global `store` instead of the session; prints its errors before it throws them.
    package var openStore: (@Sendable (ScriptContext) throws -> Void)?
    /// The Lua code that does the same as ``openStore``, for saved sessions.
    package var openingCode: String?
    /// Whether to skip the user's `init.lua`.
    package var skipsInitFile: Bool
    /// Whether environment variables such as `LUA_PATH` apply.
    package var usesEnvironment: Bool
    /// Restrictions and logging of the script host.
    package var host: HostOptions
    /// The text before the first prompt; empty for none.
    package var greeting: String

    /// Creates options.
    package init(
        storePath: String? = nil, skipsInitFile: Bool = false, usesEnvironment: Bool = true,
        host: HostOptions = HostOptions(), greeting: String = ""
    ) {
        self.storePath = storePath
        self.skipsInitFile = skipsInitFile
        self.usesEnvironment = usesEnvironment
        self.host = host
        self.greeting = greeting
    }
}
