/// How a function is called, according to the description of the API.
package struct LuaUsage: Sendable {
    /// The maximum number of arguments, without the receiver; nil for any number.
    package let mostArguments: Int?
    /// The call in messages: `store:objects(class)`.
    package let text: String
    /// For each argument that can be a table of options, without the receiver and counted from 1, the keys of the table.
    package let options: [Int: [String]]

    /// Creates a usage.
    package init(mostArguments: Int?, text: String, options: [Int: [String]]) {
        self.mostArguments = mostArguments
        self.text = text
        self.options = options
    }
}

extension LuaCall {
    /// The usage of the function; nil for a function that the API does not describe.
    var usage: LuaUsage? { function.owner.flatMap { state.usage?($0, name) } }

    /// Returns the keys that the table of options in an argument can have; nil if the API does not describe the function.
    package func optionNames(_ index: Int) -> [String]? {
        guard let options = function.options ?? usage?.options else { return nil }
        function.options = options
        return options[function.isMethod ? index - 1 : index] ?? []
    }

    /// Throws `invalid_argument` for arguments other than nil beyond those of the function: a script that passes them
    /// expects something else of it.
    ///
    /// The usage is looked up when a call first has more arguments than those before. Until then, a call costs a
    /// comparison.
    func refuseSurplus() throws {
        guard let usage, let most = usage.mostArguments else {
            function.knownCount = .max
            return
        }
        let receiver = function.isMethod ? 1 : 0
        function.knownCount = most + receiver
        guard count > function.knownCount,
            (function.knownCount + 1...count).contains(where: { !isNil($0) })
        else { return }
        let arguments =
            switch most {
            case 0: "no arguments"
            case 1: "1 argument"
            default: "\(most) arguments"
            }
        throw LuaArgumentError(
            "'\(name)' takes \(arguments), got \(count - receiver); write \(usage.text)")
    }
}
