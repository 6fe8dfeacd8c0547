import EventLoops
import LuaHost
import SystemCalls

extension ScriptContext {
    /// Replaces `print` by a function that writes each call in one piece, because several threads share the output.
    ///
    /// If the script has a label, each line begins with the label. Lua's own `print` writes one value at a time.
    package func usePrintInOnePiece() {
        guard !printsInOnePiece else { return }
        printsInOnePiece = true
        let label = configuration.outputLabel.map { Array("[\($0)] ".utf8) } ?? []
        let output = output?.standard
        let print = state.makeFunction("print") { call in
            var line: [UInt8] = label
            if call.count > 0 {
                for index in 1...call.count {
                    if index > 1 { line.append(UInt8(ascii: "\t")) }
                    for byte in try call.state.describe(call[index]).bytes {
                        line.append(byte)
                        if byte == UInt8(ascii: "\n") { line += label }
                    }
                }
            }
            line.append(UInt8(ascii: "\n"))
            if let output {
                output.write(line)
            } else {
                ProcessServices.print(line)
            }
            return .none
        }
        state.globals["print"] = .function(print)
    }
}
