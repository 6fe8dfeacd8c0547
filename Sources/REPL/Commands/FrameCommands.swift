import LuaHost

extension MetaCommand {
    /// Commands that look into the frames of the last error.
    static var frames: [MetaCommand] {
        [
            MetaCommand(
                "locals", "", "Show the variables of a frame of the last error.", isPaged: true,
                isUnsaved: true
            ) { session, _ in try session.writeFrame(withVariables: true) },
            MetaCommand(
                "up", "", "Select the caller of the frame that .locals shows.", isUnsaved: true
            ) { session, _ in try session.moveFrame(by: 1) },
            MetaCommand(
                "down", "", "Select the frame that was called from the one that .locals shows.",
                isUnsaved: true
            ) { session, _ in try session.moveFrame(by: -1) },
        ]
    }
}

extension Session {
    fileprivate func moveFrame(by distance: Int) throws {
        guard let frames = errorFrames, frames.current != nil else { throw Self.noError }
        guard frames.move(by: distance) else {
            throw CommandError(
                distance > 0 ? "this is the outermost frame" : "this is the innermost frame")
        }
        try writeFrame(withVariables: false)
    }

    private static var noError: CommandError {
        CommandError(
            "no error has occurred in Lua code; .locals shows the local variables of the last error"
        )
    }

    fileprivate func writeFrame(withVariables: Bool) throws {
        guard let (number, count, frame) = errorFrames?.current else { throw Self.noError }
        let name = frame.name.map { " in function '\($0)'" } ?? ""
        write(
            style.paint("frame \(number) of \(count): ", .dim) + frame.location + name + "\n")
        if let excerpt = errorText.excerpt("\(frame.location): ") { write(excerpt + "\n") }
        guard withVariables else { return }
        writeVariables(frame.locals, "")
        writeVariables(frame.upvalues, "outer ")
        if frame.locals.isEmpty, frame.upvalues.isEmpty { write("no variables\n") }
    }

    private func writeVariables(_ variables: [ErrorFrames.Variable], _ kind: String) {
        var printer = printer()
        printer.limits.depth = 2
        printer.limits.rows = 5
        printer.limits.items = 10
        for variable in variables {
            let text = printer.print(variable.value).text.split(
                separator: "\n", omittingEmptySubsequences: false)
            let name = style.paint(kind, .dim) + style.paint(variable.name, .key)
            let separator = text.count > 1 ? "\n" : " "
            write("  \(name) =\(separator)" + text.joined(separator: "\n") + "\n")
        }
    }
}
