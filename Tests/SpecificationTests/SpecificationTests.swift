import Testing

/// Runs `Tests/Specifications/*.lua`, which state how the store behaves.
///
/// `MOONPOOL_SPECIFICATION=collections` runs one file. No build is needed after a change of a file.
@Suite struct SpecificationTests {
    @Test(arguments: Specification.all, Specification.Environment.allCases)
    func `Every scenario holds`(
        of specification: Specification, in environment: Specification.Environment
    ) async {
        do throws(Specification.Failure) {
            let scenarios = try await specification.scenarios()
            #expect(!scenarios.isEmpty, "\(specification.name) has no scenario")
            var exceptions: [String: Int] = [:]
            for (number, scenario) in scenarios.enumerated() {
                if let reason = scenario.exceptions[environment] {
                    exceptions[reason, default: 0] += 1
                    continue
                }
                do {
                    try await specification.run(number, in: environment)
                } catch {
                    Issue.record(
                        "\(specification.name):\(error.line): '\(scenario.title)' (\(environment.rawValue)): \(error.message)",
                        sourceLocation: specification.location(error.line))
                }
            }
            for (reason, count) in exceptions.sorted(by: { $0.key < $1.key }) {
                print(
                    "\(specification.name): \(count) of \(scenarios.count) scenarios left out (\(environment.rawValue)): \(reason)"
                )
            }
        } catch {
            Issue.record("\(error.message)", sourceLocation: specification.location(error.line))
        }
    }

    @Test func `There are specifications`() { #expect(!Specification.all.isEmpty) }

    @Test(
        arguments: [
            ("assert(1 == 2)", "false.lua:1: the condition is false"),
            ("assert(nil, 'why')", "false.lua:1: \"why\""),
            ("equal({ 1, 2 }, { 1, 3 })", "false.lua:1: expected { 1, 3 }, got { 1, 2 }"),
            ("equal({ 1, a = 2 }, { 1 })", "expected { 1 }, got { 1, a = 2 }"),
            ("equal(nil, false)", "expected false, got nil"),
            (
                "fails('not_in_write', function() end)",
                "expected the error 'not_in_write', got none"
            ),
            ("fails('frozen', store.create, store, 'Toy', {})", "got 'not_in_write: "),
            (
                "fails('not_in_write: xyz', store.create, store, 'Toy', {})",
                "expected the error 'not_in_write: xyz', got"
            ),
            ("fails(': xyz', error, 'abc')", "expected the error ': xyz', got ': abc'"),
            ("store:create('Toy', {})", "false.lua:1: "), ("return nil + 1", "false.lua:1: "),
            (
                "kept = store:objects 'Toy':observe(function() error 'late' end) turn()",
                "late"
            ),
        ], Specification.Environment.allCases)
    func `A scenario that does not hold fails`(
        statement: (code: String, message: String), environment: Specification.Environment
    ) async throws {
        let specification = Specification(
            name: "false.lua", source: "scenario('x', function() \(statement.code) end)")
        let failure = await #expect(throws: Specification.Failure.self) {
            try await specification.run(0, in: environment)
        }
        #expect(failure?.message.contains(statement.message) == true, "\(failure?.message ?? "")")
        #expect(failure?.line == 1)
    }

    @Test func `A file that fails or has no scenario is an error`() async throws {
        await #expect(throws: Specification.Failure.self) {
            try await Specification(name: "x.lua", source: "x = = 1").scenarios()
        }
        #expect(try await Specification(name: "x.lua", source: "").scenarios().isEmpty)
    }
}
