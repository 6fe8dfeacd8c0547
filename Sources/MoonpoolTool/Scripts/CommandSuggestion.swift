import EventLoops
import ObjectStore

/// The command that a misspelt one may mean.
enum CommandSuggestion {
    /// What to say of a first word that is no file and looks like a command; nil for all others.
    static func problem(_ word: String) -> String? {
        guard !ProcessServices.exists(word), !word.contains("/"), !word.contains(".") else {
            return nil
        }
        let names = MoonpoolCommand.configuration.subcommands.compactMap {
            $0.configuration.commandName
        }
        guard let near = NearestName.find(word, among: names) else { return nil }
        return
            "moonpool: there is no script or command '\(word)'; did you mean 'moonpool \(near)'?\n"
    }
}

/// Exit codes of the program.
enum ExitStatus {
    /// A wrong command line.
    static let usage: Int32 = 64
}
