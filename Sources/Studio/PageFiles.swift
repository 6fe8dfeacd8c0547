/// The files of the page, which are part of the program: no path of a request reaches the file system.
enum PageFiles {
    /// Returns the type and the bytes of a file by the path in its address.
    static func file(at path: String) -> (type: String, bytes: [UInt8])? {
        switch path {
        case "/": ("text/html; charset=utf-8", PackageResources.studio_html)
        case "/studio.css": ("text/css; charset=utf-8", PackageResources.studio_css)
        case "/icon.svg", "/favicon.ico": ("image/svg+xml", PackageResources.icon_svg)
        case "/studio.js": (javaScript, PackageResources.studio_js)
        case "/connection.js": (javaScript, PackageResources.connection_js)
        case "/elements.js": (javaScript, PackageResources.elements_js)
        case "/editing.js": (javaScript, PackageResources.editing_js)
        case "/console.js": (javaScript, PackageResources.console_js)
        case "/history.js": (javaScript, PackageResources.history_js)
        case "/import.js": (javaScript, PackageResources.import_js)
        case "/migrations.js": (javaScript, PackageResources.migrations_js)
        case "/schema.js": (javaScript, PackageResources.schema_js)
        case "/observers.js": (javaScript, PackageResources.observers_js)
        case "/grid.js": (javaScript, PackageResources.grid_js)
        case "/collections.js": (javaScript, PackageResources.collections_js)
        case "/panels.js": (javaScript, PackageResources.panels_js)
        case "/lua.js": (javaScript, PackageResources.lua_js)
        default: nil
        }
    }

    private static let javaScript = "text/javascript; charset=utf-8"
}
