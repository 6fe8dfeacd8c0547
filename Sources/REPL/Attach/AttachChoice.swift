import ScriptHost

/// Chooses the script of a process to attach to.
struct AttachChoice: Sendable {
    private let scripts: [(name: String, script: Script)]

    /// The reason why no script can be chosen.
    struct NoScript: Error {
        let reason: String
    }

    init(_ scripts: [(name: String, script: Script)]) { self.scripts = scripts }

    /// Returns the script with a name or a number; without a name, the first running script.
    ///
    /// Also returns a remark if the process runs several scripts and none was named.
    func script(_ wanted: String?) throws(NoScript) -> (Script, remark: String?) {
        guard let wanted else {
            guard let first = scripts.first(where: { !$0.script.hasEnded }) else {
                throw NoScript(reason: "the script has ended")
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
            throw NoScript(reason: "unknown script '\(wanted)'; \(runningNames)")
        }
        guard !scripts[index].script.hasEnded else {
            throw NoScript(reason: "'\(wanted)' has ended; \(runningNames)")
        }
        return (scripts[index].script, nil)
    }

    private var running: [String] { scripts.filter { !$0.script.hasEnded }.map(\.name) }

    private var runningNames: String {
        running.isEmpty
            ? "all scripts have ended" : "running scripts: \(running.joined(separator: ", "))"
    }
}
