/// The arguments that a method takes, according to the description of the API.
package struct LuaMethodUsage: Sendable {
    /// The maximum number of arguments, without the receiver; nil for any number.
    package let mostArguments: Int?
    /// The call in messages: `store:objects(class)`.
    package let text: String

    /// Creates a usage.
    package init(mostArguments: Int?, text: String) {
        self.mostArguments = mostArguments
        self.text = text
    }
}

/// The check of one method for arguments that it does not take: a script that passes them expects something else of the
/// method.
///
/// The usage is looked up when a call first has more arguments than those before. Until then, a call costs a comparison.
final class SurplusArguments {
    private let type: String
    private let method: String
    /// The number of arguments, without the receiver, that the method is known to take.
    private(set) var known = 0

    init(_ type: String, _ method: String) {
        self.type = type
        self.method = method
    }

    /// Throws `invalid_argument` for arguments other than nil beyond those of the method.
    @inline(__always)
    func check(_ call: borrowing LuaCall) throws {
        if call.count > known &+ 1 { try compareWithUsage(call) }
    }

    @inline(never)
    private func compareWithUsage(_ call: borrowing LuaCall) throws {
        guard let usage = call.state.methodUsage?(type, method), let most = usage.mostArguments
        else {
            known = .max - 1
            return
        }
        known = most
        guard call.count > most + 1,
            (most + 2...call.count).contains(where: { !call.isNil($0) })
        else { return }
        let arguments =
            switch most {
            case 0: "no arguments"
            case 1: "1 argument"
            default: "\(most) arguments"
            }
        throw LuaArgumentError(
            "'\(method)' takes \(arguments), got \(call.count - 1); write \(usage.text)")
    }
}
