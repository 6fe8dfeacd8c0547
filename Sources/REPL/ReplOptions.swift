import ScriptHost

/// How the prompt is started.
package struct ReplOptions: Sendable {
    /// The store's file; nil for a store in memory called `store`.
    package var storePath: String?
    /// Opens the global `store` in place of ``storePath``; what it throws, it has printed.
    package var openStore: (@Sendable (ScriptContext) throws -> Void)?
    /// The statement by which a saved script opens the store; nil where ``storePath`` says it.
    package var opening: String?
    /// Whether the user's `init.lua` is left alone.
    package var skipsInitFile: Bool
    /// Whether `LUA_PATH` and the like count.
    package var usesEnvironment: Bool
    /// What entries may reach and take.
    package var host: HostOptions
    /// What is said before the first prompt; nothing if empty.
    package var greeting: String

    /// Makes options.
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
