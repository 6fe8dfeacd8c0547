/// What a name of the Lua API belongs to: a table of functions, a kind of value, or a table of options.
package struct CatalogueType: Sendable, Hashable {
    /// What help calls it: `store`, `Results`, `open options`.
    package let name: String
    /// What annotations and signatures call it: `Store`, without `moonpool.` before it.
    package let annotation: String
    /// One sentence.
    package let summary: String
    /// What `T` is in the signatures of its methods, for people: `object` or `value`; empty where there is no `T`.
    package let element: String
    /// The type whose members it has too.
    package let parent: String?
    /// A script that shows it; empty where the examples of its members do.
    package let example: String

    init(
        _ name: String, _ annotation: String, _ summary: String, element: String = "",
        parent: String? = nil, example: String = ""
    ) {
        self.name = name
        self.annotation = annotation
        self.summary = summary
        self.element = element
        self.parent = parent
        self.example = example
    }

    /// What stands before the names of its members: `store:`, `moonpool.`, nothing before globals.
    func prefix(_ separator: String) -> String { self == Catalogue.prompt ? "" : name + separator }

    /// What may follow its values after a colon, or after a dot; its parent's names too.
    package func names(isMethod: Bool) -> [String] {
        Catalogue.entries(of: self).filter { ($0.kind == .method) == isMethod }.map(\.name)
            + (parent.flatMap(Catalogue.type(named:))?.names(isMethod: isMethod) ?? [])
    }

    /// The names of types are unique.
    package static func == (left: CatalogueType, right: CatalogueType) -> Bool {
        left.name == right.name
    }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
