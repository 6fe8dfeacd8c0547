import ScriptHost

/// Which of the scripts of a process somebody wants to look into.
struct AttachChoice: Sendable {
    private let scripts: [(name: String, script: Script)]

    /// Why there is none.
    struct Nobody: Error {
        let reason: String
    }

    init(_ scripts: [(name: String, script: Script)]) { self.scripts = scripts }

    /// The script of a name or a number; the first that runs where nobody is named.
    ///
    /// With a remark for who did not know that there are several.
    func script(_ wanted: String?) throws(Nobody) -> (Script, remark: String?) {
        guard let wanted else {
            guard let first = scripts.first(where: { !$0.script.hasEnded }) else {
                throw Nobody(reason: "the script has ended")
            }
            if scripts.count == 1 { return (first.script, nil) }
            let others = running.filter { $0 != first.name }.joined(separator: ", ")
            return (
                first.script,
                "this is '\(first.name)'" + (others.isEmpty ? "" : "; --script shows \(others)")
                    + "\n"
            )
        }
        let number = Int(wanted).flatMap { scripts.indices.contains($0 - 1) ? $0 - 1 : nil }
        let index = scripts.firstIndex { $0.name == wanted } ?? number
        guard let index else {
            throw Nobody(reason: "no script is called '\(wanted)'; \(whoRuns)")
        }
        guard !scripts[index].script.hasEnded else {
            throw Nobody(reason: "'\(wanted)' has ended; \(whoRuns)")
        }
        return (scripts[index].script, nil)
    }

    private var running: [String] { scripts.filter { !$0.script.hasEnded }.map(\.name) }

    private var whoRuns: String {
        running.isEmpty ? "none runs any more" : "\(running.joined(separator: ", ")) can be had"
    }
}
