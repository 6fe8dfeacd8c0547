import ColumnStorage
import ObjectStore

/// A report to an observer of a ``LiveProjection``.
///
/// ```swift
/// let token = try card.observe { result in
///     guard case .success(.change(let card, let properties)) = result else { return }
///     for property in properties { print(property.name, property.old, property.new, card) }
/// }
/// ```
public enum ProjectionChange<P: Projection>: Sendable {
    /// Values have changed; the projection contains the values after the change. The properties have their names in the
    /// projection.
    case change(P, [PropertyChange])
    /// The object was deleted; the projection contains the last observed values. This is the last change.
    case deleted(P)
}

extension LiveProjection: ChangeReporting {
    /// How the projected values are observed: when they change, and once when the object is deleted.
    public var _changes: LiveChanges<ProjectionChange<P>, P> {
        LiveChanges(changeSource, text: ProjectionLayout<P>.text(of:))
    }

    /// Observes the object, and compares the projected values before and after each change.
    private var changeSource: ChangeSource<ProjectionChange<P>> {
        let (root, source, context) = (self.root, self.source, self.root.modelTable.context)
        return ChangeSource(context: context) { chosen, handler in
            let paths = try source.paths(in: context)
            let indexes = chosen.isEmpty ? Array(paths.paths.indices) : chosen.compactMap(Int.init)
            var last = try source.values(of: root.objectKey, in: context)
            let names = try ProjectionLayout<P>.names(of: paths.card(last, context))
            return try root.modelTable.liveObject(root.objectKey).observe(
                keyPaths: paths.observed(indexes)
            ) { change in
                let result: Result<ProjectionChange<P>, any Error>?
                var isLast = false
                do {
                    switch change.kind {
                    case .change:
                        let before = last
                        last = try source.values(of: root.objectKey, in: context)
                        let changed = indexes.filter { before[$0] != last[$0] }
                        if changed.isEmpty {
                            result = nil
                        } else {
                            let properties = changed.map {
                                PropertyChange(
                                    name: names[$0], old: context.mixed(before[$0]),
                                    new: context.mixed(last[$0]))
                            }
                            let card = try source.paths(in: context).card(last, context)
                            result = .success(.change(card, properties))
                        }
                    case .deleted:
                        isLast = true
                        result = .success(.deleted(try paths.card(last, context)))
                    case .error(let error): throw error
                    }
                } catch {
                    isLast = true
                    result = .failure(error)
                }
                handler(result, isLast)
            }
        }
    }

    /// Returns the current plain projection, and then the projection after each change of a value.
    public func values() -> ChangeSequence<P> {
        let (source, root, changes) = (self.source, self.root, changeSource)
        let context = root.modelTable.context
        return ChangeSequence {
            ChangePull(context) { handler in
                handler(.success(try source.card(of: root.objectKey, in: context)), false)
                return try changes.register([]) { change, isLast in
                    switch change {
                    case .success(.change(let card, _)): handler(.success(card), isLast)
                    case .success(.deleted), nil: handler(nil, isLast)
                    case .failure(let error): handler(.failure(error), isLast)
                    }
                }
            }
        }
    }
}
