import LuaHost
import ObjectStore
import Reference
import StoreBindings
import Synchronization

/// The number of matches of the query at the cursor.
///
/// The terminal thread requests the number, and the script's thread computes it.
final class MatchCounts: Sendable {
    private struct State {
        var text = ""
        var hint: String?
    }

    private let state = Mutex(State())

    /// Returns whether a text can end in a query, without parsing it.
    static func canCount(_ text: String) -> Bool {
        text.contains("where") && (text.hasPrefix(".") || text.contains { "\"'[".contains($0) })
    }

    /// Requests the count for a text; returns false if the text is already the requested one.
    func request(_ text: String) -> Bool {
        state.withLock { state in
            guard state.text != text else { return false }
            state = State(text: text)
            return true
        }
    }

    /// Returns whether a text is the one requested last.
    func isNewest(_ text: String) -> Bool { state.withLock { $0.text == text } }

    /// Returns the answer for a text; nil until it arrives.
    func hint(for text: String) -> String? {
        state.withLock { $0.text == text ? $0.hint : nil }
    }

    /// Records the count for a text.
    func answer(_ text: String, _ hint: String?) {
        state.withLock { if $0.text == text { $0.hint = hint } }
    }
}

/// The time budget of counts while the user types, based on the durations of earlier counts.
struct CountingBudget {
    /// The number of objects that a count scans in a microsecond.
    private var speed = Self.firstSpeed
    private static let firstSpeed = 10.0
    private static let microseconds = 20_000.0

    /// Returns whether counting this many objects is likely to take less than 20 ms.
    func allows(_ objects: Int) -> Bool { Double(objects) <= speed * Self.microseconds }

    /// Records the duration of a count.
    mutating func note(_ objects: Int, _ duration: Duration) {
        // Short counts measure only their overhead.
        guard objects > 1_000 else { return }
        let (seconds, attoseconds) = duration.components
        let time = max(1, Double(seconds) * 1e6 + Double(attoseconds) / 1e12)
        let measured = Double(objects) / time
        // The average lets counts resume after one slow predicate.
        speed = measured < speed ? max(measured, 1) : (speed + measured) / 2
    }
}

extension Session {
    /// Returns `3 of 10 Dog` for a text that ends in a query on a class, if counting is quick; nil otherwise.
    ///
    /// Runs no code of the script.
    func matchHint(for text: String) -> String? {
        guard let (results, predicate) = typedQuery(text) else { return nil }
        let clock = ContinuousClock()
        let begin = clock.now
        // The error is ignored: an unfinished predicate is not valid yet.
        guard let all = try? results.count(), countingBudget.allows(all),
            let matching = try? results.filtered(predicate).count()
        else { return nil }
        countingBudget.note(all, clock.now - begin)
        let name = (try? results.classSchema())?.name ?? ""
        return "\(ValueText.count(matching)) of \(ValueText.count(all)) \(name)"
    }

    /// Returns the collection and the predicate of `dogs:where("age > 3` or `.watch Dog where age > 3`.
    private func typedQuery(_ text: String) -> (Results, String)? {
        guard let store = store?.store else { return nil }
        if EntryText.isCommand(text) {
            let words = text.split(maxSplits: 1, whereSeparator: \.isWhitespace)
            guard words.count == 2,
                case .query? = commands.find(String(words[0].dropFirst()))?.argument,
                let query = ClassQuery(words[1]), query.hasWhere, let predicate = query.predicate,
                let all = try? store.objects(query.className)
            else { return nil }
            return (all, predicate)
        }
        var tokens = LuaLexer.allTokens(of: text)
        guard let last = tokens.popLast(), case .string(isClosed: false) = last.kind,
            let call = CallContext(tokens), call.function == "where", call.isFirstArgument
        else { return nil }
        let predicate = Completer.content(of: last.text)
        guard !predicate.isEmpty, let results = receiver(call.receiver, store) else { return nil }
        return (results, predicate)
    }

    /// Returns the collection of a receiver such as `dogs:` or `store:objects("Dog"):`.
    private func receiver(_ tokens: [LuaToken], _ store: Store) -> Results? {
        var tokens = tokens
        guard tokens.popLast()?.isSymbol(":") == true, let last = tokens.last else { return nil }
        func beginsChain(_ count: Int) -> Bool {
            guard tokens.count >= count else { return false }
            let before = tokens.dropLast(count).last
            return before?.isSymbol(".") != true && before?.isSymbol(":") != true
        }
        if last.kind == .name {
            guard beginsChain(1) else { return nil }
            let value = evaluator.local(last.text) ?? context.state.globals[last.text]
            guard case .results(let results)? = context.storeModule.inspect(value) else {
                return nil
            }
            return results
        }
        if tokens.last?.isSymbol(")") == true { tokens.removeLast() }
        guard let name = tokens.popLast(), case .string(isClosed: true) = name.kind else {
            return nil
        }
        if tokens.last?.isSymbol("(") == true { tokens.removeLast() }
        guard beginsChain(3) else { return nil }
        let chain = Array(tokens.suffix(3))
        guard chain[0].kind == .name, chain[1].isSymbol(":"), chain[2].text == "objects",
            case .store(let handle)? = context.storeModule.inspect(
                evaluator.local(chain[0].text) ?? context.state.globals[chain[0].text])
        else { return nil }
        // The error is ignored: an unknown class has no objects to count.
        return try? handle.store.objects(Completer.content(of: String(name.text.dropLast())))
    }
}
