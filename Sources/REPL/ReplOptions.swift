import ScriptHost

/// How the prompt is started.
public struct ReplOptions: Sendable {
    /// The store's file; nil for a store in memory called `store`.
    public var storePath: String?
    /// Whether the user's `init.lua` is left alone.
    public var skipsInitFile: Bool
    /// Whether `LUA_PATH` and the like count.
    public var usesEnvironment: Bool
    /// What entries may reach and take.
    public var host: HostOptions
    /// What is said before the first prompt; nothing if empty.
    public var greeting: String

    /// Makes options.
    public init(
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
