import CLuaShims

/// The command line of the process.
package enum ProgramArguments {
    /// The program's name and its arguments.
    ///
    /// Unlike `CommandLine.arguments`, also where `/proc` is not mounted.
    package static var words: [String] {
        var words: [String] = []
        while let word = shim_program_word(Int32(words.count)) {
            words.append(String(cString: word))
        }
        return words
    }
}
