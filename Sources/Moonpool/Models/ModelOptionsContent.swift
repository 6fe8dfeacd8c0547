import SystemCalls

/// The content of ``ModelOptions`` without the type of the model.
package struct ModelOptionsContent: Sendable {
    // For the compiler, a key path is Sendable only if its type is. A key path without captured values is Sendable, and
    // a path to a stored property captures none.
    private let paths: Unchecked<Paths>

    private struct Paths {
        let primaryKey: AnyKeyPath?
        let indexes: [AnyKeyPath]
        let compositeIndexes: [[AnyKeyPath]]
        let fullText: [AnyKeyPath]
        let renamed: [(AnyKeyPath, String)]
        let ignored: [AnyKeyPath]
        let fields: [(String, AnyKeyPath)]
    }

    init(
        primaryKey: AnyKeyPath?, indexes: [AnyKeyPath], compositeIndexes: [[AnyKeyPath]],
        fullText: [AnyKeyPath], renamed: [(AnyKeyPath, String)], ignored: [AnyKeyPath],
        fields: [(String, AnyKeyPath)]
    ) {
        paths = Unchecked(
            Paths(
                primaryKey: primaryKey, indexes: indexes, compositeIndexes: compositeIndexes,
                fullText: fullText, renamed: renamed, ignored: ignored, fields: fields))
    }

    var primaryKey: AnyKeyPath? { paths.value.primaryKey }
    var indexes: [AnyKeyPath] { paths.value.indexes }
    var compositeIndexes: [[AnyKeyPath]] { paths.value.compositeIndexes }
    var fullText: [AnyKeyPath] { paths.value.fullText }
    var renamed: [(AnyKeyPath, String)] { paths.value.renamed }
    var ignored: [AnyKeyPath] { paths.value.ignored }
    var fields: [(String, AnyKeyPath)] { paths.value.fields }
}
