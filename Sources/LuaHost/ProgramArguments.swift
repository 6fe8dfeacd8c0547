import CLuaShims

/// The command line of the process.
package enum ProgramArguments {
    /// The name of the program and its arguments.
    ///
    /// Unlike `CommandLine.arguments`, available even if `/proc` is not mounted.
    package static var words: [String] {
        var words: [String] = []
        while let word = shim_program_word(Int32(words.count)) {
            words.append(String(cString: word))
        }
        return words
    }
}
