import LockstepJSON

/// A playlist's schema, as an app's developer writes it, and a value of about 1 KiB.
enum TypicalCase {
  static let schema: JSON = [
    "type": "object",
    "required": ["title", "kind", "createdAt", "owner", "tracks"],
    "properties": [
      "title": ["type": "string", "minLength": 1, "maxLength": 200],
      "description": ["type": "string", "maxLength": 2_000],
      "kind": ["enum": ["manual", "smart", "shared"]],
      "createdAt": ["type": "string", "format": "date-time"],
      "updatedAt": ["type": "string", "format": "date-time"],
      "rating": ["type": "number", "minimum": 0, "maximum": 5],
      "isPinned": ["type": "boolean"],
      "color": ["type": ["string", "null"], "maxLength": 7],
      "owner": [
        "type": "object",
        "required": ["id", "name"],
        "properties": [
          "id": ["type": "string", "format": "uuid"],
          "name": ["type": "string", "maxLength": 100],
          "email": ["type": "string", "format": "email"],
        ],
        "additionalProperties": false,
      ],
      "tags": ["type": "array", "maxItems": 20, "uniqueItems": true, "items": ["type": "string", "maxLength": 40]],
      "tracks": ["type": "array", "maxItems": 500, "items": ["$ref": "#/$defs/track"]],
    ],
    "additionalProperties": false,
    "$defs": [
      "track": [
        "type": "object",
        "required": ["id", "title"],
        "properties": [
          "id": ["type": "string", "maxLength": 64],
          "title": ["type": "string", "maxLength": 200],
          "artist": ["type": "string", "maxLength": 200],
          "seconds": ["type": "integer", "minimum": 0],
        ],
        "additionalProperties": false,
      ]
    ],
  ]

  static let value: JSON = [
    "title": "Songs for a long drive through the mountains",
    "description": .string(String(repeating: "Collected over ten years, and played on every trip. ", count: 4)),
    "kind": "manual",
    "createdAt": "2026-01-14T12:38:07.125Z",
    "updatedAt": "2026-11-23T18:25:43+01:00",
    "rating": 4.5,
    "isPinned": true,
    "color": nil,
    "owner": [
      "id": "2eb8aa08-aa98-41ea-b4aa-73b441d16380", "name": "Ada Lovelace", "email": "ada.lovelace@example.com",
    ],
    "tags": ["travel", "summer", "guitars", "favourites"],
    "tracks": .array(
      (1...5).map { number in
        [
          "id": .string("track:\(number * 7_919)"), "title": .string("Lanterns over the harbour, part \(number)"),
          "artist": "The Quiet Signal", "seconds": JSON(180 + number),
        ]
      }
    ),
  ]

  static let invalidValue: JSON = {
    var object = value.objectValue ?? [:]
    object["title"] = ""
    object["kind"] = "other"
    object["createdAt"] = "yesterday"
    object["unknown"] = 1
    return .object(object)
  }()
}
