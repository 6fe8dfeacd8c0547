/// The limits of a store that do not depend on its options.
package enum StoreLimits {
    /// The maximum number of objects nested in each other in one value, of objects embedded in each other, and of lists
    /// and maps inside each other in a mixed value.
    package static let nesting = 100
}
