import LuaHost
import ObjectStore

/// An observer's token in the hands of a script.
///
/// Its observer ends with it.
public final class TokenHandle {
    let token: NotificationToken
    /// The token's number in its script, counted from 1.
    public let number: Int
    /// The name that the script gave for reports; empty if none.
    public let name: String
    /// What is observed, in words: `Dog where age > 3`, `a Dog`, `the store`.
    public let subject: String
    /// File and line of the call that registered the observer; empty if no Lua code did.
    public let place: String
    private var hold: (any BindingHold)?

    init(
        _ token: NotificationToken, name: String, subject: String, number: Int, place: String,
        hold: (any BindingHold)?
    ) {
        self.subject = subject
        self.token = token
        self.name = name
        self.number = number
        self.place = place
        self.hold = hold
        token.endHandler = { [weak self] in self?.didEnd() }
    }

    deinit { hold?.release() }

    /// Whether the function may still be called.
    public var isValid: Bool { token.isValid }

    /// How reports call it.
    public var title: String {
        name.isEmpty ? (place.isEmpty ? "an observer" : "the observer of \(place)") : "'\(name)'"
    }

    /// How often the function was called and how long that took.
    public var statistics: ObserverStatistics { token.statistics }

    /// What the last call was for; nil before the first one that reported a change.
    public var reason: DeliveryReason? { token.reason }

    /// Ends the observation; again does nothing.
    public func invalidate() {
        token.invalidate()
    }

    /// Called once when the observation has ended.
    var endHandler: (() -> Void)?

    /// The observation has ended, by the token or by itself.
    private func didEnd() {
        hold?.release()
        hold = nil
        endHandler?()
        endHandler = nil
    }

    static let type: LuaClass<TokenHandle> = LuaClass(
        name: "token", summary: "An observation: it lasts as long as its token.",
        methods: [
            LuaMethod("invalidate", "()", "Ends the observation.") { token, _ in
                token.invalidate()
                return .none
            },
            LuaMethod("why", "() → table", "What the last call was for, or nil.") { token, call in
                guard let reason = token.reason else { return call.answer(.nil) }
                let table = call.state.makeTable(fields: 5)
                table["version"] = .integer(Int64(clamping: reason.version))
                table["previous_version"] = .integer(Int64(clamping: reason.previousVersion))
                table["objects"] = .integer(Int64(reason.objects.count))
                table["properties"] = .table(
                    call.state.makeTable(reason.properties.map(LuaValue.text)))
                table["keypath"] = reason.keyPath.map(LuaValue.text) ?? .nil
                return call.answer(.table(table))
            },
            LuaMethod("stats", "() → table", "Calls, coalesced commits, microseconds, place.") {
                token, call in
                let statistics = token.statistics
                let table = call.state.makeTable(fields: 7)
                table["calls"] = .integer(Int64(statistics.calls))
                table["coalesced"] = .integer(Int64(statistics.coalescedCommits))
                table["last_us"] = .number(statistics.lastMicroseconds)
                table["mean_us"] = .number(statistics.meanMicroseconds)
                table["max_us"] = .number(statistics.maximumMicroseconds)
                table["where"] = .text(token.place)
                table["name"] = .text(token.name)
                return call.answer(.table(table))
            },
        ],
        properties: [
            LuaProperty("is_valid", "Whether the function may still be called.") {
                $1.set($0.isValid)
            },
            LuaProperty("name", "The name for reports.") { $1.set($0.name) },
        ],
        metamethods: [
            LuaMethod("__close") { token, _ in
                token.invalidate()
                return .none
            },
            LuaMethod("__tostring") { token, call in
                call.answer(
                    .text("token of \(token.title) (\(token.isValid ? "valid" : "invalidated"))"))
            },
        ])
}
