import LuaHost
import StoreBindings

/// The ten steps of `.tutorial`: what to type, and how it is seen that it was done.
struct Tutorial {
    /// A step.
    struct Step: Sendable {
        /// What it is about.
        var title: String
        /// What to know.
        var text: String
        /// An entry that does it.
        var entry: String
        /// Whether the user has done it; looks at the session after an entry.
        var isDone: @Sendable (Session, _ entry: String) -> Bool
    }

    /// The number of the step that is shown, from 1 on.
    private(set) var number = 1

    var step: Step { Self.steps[number - 1] }
    var isLast: Bool { number == Self.steps.count }

    /// A tutorial that begins at a step; nil if there is none of that number.
    init?(at number: Int = 1) {
        guard Self.steps.indices.contains(number - 1) else { return nil }
        self.number = number
    }

    mutating func advance() { number = min(number + 1, Self.steps.count) }

    static let steps: [Step] = [
        Step(
            title: "Expressions",
            text: "Type Lua. An expression shows its value, and _ is the last one. Try:",
            entry: "6 * 7", isDone: { session, _ in !session.lastValues.isEmpty }),
        Step(
            title: "Classes",
            text: """
                A store holds objects of classes. `store` is one in memory, open already. A class is defined by its \
                properties and their types; `int primary` is a key, `?` makes a property optional:
                """,
            entry:
                "store:define { Dog = { id = \"int primary\", name = \"string\", age = \"int?\" } }",
            isDone: { session, _ in session.store?.store.schema.find("Dog") != nil }),
        Step(
            title: "Writing",
            text: """
                Changes are made in transactions: the function's changes become visible together, or not at all if it \
                raises an error. The prompt shows the new version:
                """,
            entry: "store:write(function() for i, name in ipairs { \"Rex\", \"Max\", \"Cleo\" } do "
                + "store:create(\"Dog\", { id = i, name = name, age = 2 * i }) end end)",
            isDone: { session, _ in session.count(of: "Dog") > 0 }),
        Step(
            title: "Queries",
            text: """
                Results are lazy and live: they always show what matches now. Tab completes classes, properties and \
                methods, inside the string too:
                """,
            entry: "dogs = store:objects(\"Dog\"):where(\"age > 2\"):sorted(\"name\")",
            isDone: { session, _ in session.isResults("dogs") }),
        Step(
            title: "Looking",
            text:
                "An object shows its properties, Results show a table; .last shows what did not fit. See yours:",
            entry: "dogs", isDone: { _, entry in entry.contains("dogs") }),
        Step(
            title: "Live objects",
            text:
                "An object reads from the store each time. Change one, and look at dogs again afterwards:",
            entry: "store:write(function() dogs[1].age = 9 end)",
            isDone: { _, entry in entry.contains("age") }),
        Step(
            title: "Observers",
            text: """
                An observer is called after each change of what it watches, and says what came, left and changed. Keep \
                the token: the observer ends with it. What it prints bears its name:
                """,
            entry:
                "token = dogs:observe(function(c) print(c.type, #c.insertions, #c.modifications) end, "
                + "{ name = \"kennel\" })",
            isDone: { session, _ in !session.context.storeModule.activeTokens.isEmpty }),
        Step(
            title: "Changes arrive",
            text: "Now change something that the observer watches. It prints above what you type:",
            entry: "store:write(function() dogs[1].name = \"Caesar\" end)",
            isDone: { _, entry in entry.contains("write") }),
        Step(
            title: "Why",
            text: """
                .observers lists the observers and what they cost, .why NAME tells what the last call was for, and \
                .watch dogs draws a query again after each change:
                """,
            entry: ".why kennel",
            isDone: { _, entry in
                [".why", ".observers", ".watch"].contains { entry.hasPrefix($0) }
            }),
        Step(
            title: "Keeping it",
            text: """
                .save FILE writes your entries as a script, .transcript FILE records a session that can be run as a \
                test, and `moonpool zoo.moonpool` opens a store in a file. The last step:
                """,
            entry: ".help", isDone: { _, entry in entry.hasPrefix(".") }),
    ]
}

extension Session {
    fileprivate func count(of name: String) -> Int {
        guard let view = store?.store.view, let found = view.schema.find(name) else { return 0 }
        return view.table(found).count
    }

    fileprivate func isResults(_ name: String) -> Bool {
        let value = evaluator.local(name) ?? context.state.globals[name]
        if case .results? = context.storeModule.inspect(value) { return true }
        return false
    }
}
