import Testing

@testable import REPL

@Suite struct EntryCompilerTests {
    private let compiler = EntryCompiler()

    @Test(arguments: [
        "1 + 1", "= 1 + 1", "x = 1", "print('a')", "for i = 1, 3 do end", "", "-- nothing",
        "return 5", "local x <const> = 1", ".help", " .quit now", "'a', 'b'", "function f() end",
        "do\nend",
    ]) func `complete entries are accepted`(_ entry: String) {
        #expect(compiler.status(of: entry) == .complete)
    }

    @Test(arguments: [
        "for i = 1, 3 do", "x =", "f(", "function f()", "[[ long", "1 +", "= 1 +", "if x then",
        "--[[ comment", "t = {", "'a' ..", "repeat x()", "local x = {\n1,\n",
    ]) func `incomplete entries need another line`(_ entry: String) {
        #expect(compiler.status(of: entry) == .incomplete)
    }

    @Test(arguments: ["x y", "1 = 2", "end", ")", "= x = 1", "goto nowhere", "'open"])
    func `invalid entries are errors`(_ entry: String) {
        guard case .wrong = compiler.status(of: entry) else {
            Issue.record("\(compiler.status(of: entry))")
            return
        }
    }
}
