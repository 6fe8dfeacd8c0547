/// The formats of pictures, by the extension of the file name.
enum PictureFormat: String, Sendable {
    case svg
    case html

    /// Returns the format of a file; nil for other files.
    init?(path: String) {
        let name = path.lowercased()
        guard
            let format = [PictureFormat.svg, .html].first(where: {
                name.hasSuffix(".\($0.rawValue)")
            })
        else { return nil }
        self = format
    }
}
