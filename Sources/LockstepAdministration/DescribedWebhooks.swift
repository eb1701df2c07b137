import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore

// The descriptions of the routes of webhooks.

extension WebhookRoutes {
  private static let webhookName = RouteParameter(
    "name",
    in: .path,
    "The name of a webhook.",
    schema: ["type": "string", "pattern": "^[a-z][A-Za-z0-9_-]{0,63}$"]
  )
  private static let schemas = ["Webhook": WebhookDocument.format.schema]
  private static let deliverySchemas = ["Delivery": DeliveryListing.format.schema]

  static var listing: RouteDescription {
    .administration(
      "listWebhooks",
      parameters: [.ifMatchOfRead, .ifNoneMatch],
      responses: [
        .shown(.schema(["items": .arraySchema(of: .reference("Webhook"))]), fields: RouteField.validators),
        .unmodified,
      ],
      schemas: schemas
    )
  }

  static var showing: RouteDescription {
    .administration(
      "getWebhook",
      parameters: [webhookName, .ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(.reference("Webhook"), fields: RouteField.validators), .unmodified],
      problems: [.notFound],
      schemas: schemas
    )
  }

  static var putting: RouteDescription {
    let events: JSON = ["enum": .array(WebhookDocument.eventNames.map { .string($0) })]
    let secret: JSON = [
      "type": ["string", "null"],
      "description":
        "`whsec_` and the base64 of 24 to 64 bytes. Without it, a new webhook gets a secret, and an existing webhook keeps its secret.",
    ]
    let ignored: JSON = ["description": "Ignored, so that a client can send back a webhook that it has read."]
    let body = JSON.closedSchema(
      [
        "url": [
          "type": "string", "maxLength": 2048, "examples": ["https://backend.example/hooks"],
          "description": "Begins with https:// or http://, and has no user, password or fragment.",
        ],
        "events": ["type": "array", "items": events, "minItems": 1, "maxItems": 100],
      ],
      optional: [
        "secret": secret, "name": .textSchema, "createdAt": ignored, "failingSince": ignored, "disabledAt": ignored,
        "pausedUntil": ignored, "queued": ignored, "oldestQueuedAt": ignored,
      ]
    )
    return .administration(
      "putWebhook",
      parameters: [webhookName] + RouteParameter.writing,
      body: RouteBody(body),
      responses: [
        RouteResponse(
          .created,
          "The new webhook. If the request had no secret, this response contains the new one in `secret`. No other response does.",
          fields: [.etag, .cacheControl, .location, .idempotencyReplayed],
          json: ["allOf": [.reference("Webhook"), .schema([:], optional: ["secret": .textSchema])]]
        ),
        RouteResponse(
          .ok,
          "The changed webhook.",
          fields: [.etag, .cacheControl, .idempotencyReplayed],
          json: .reference("Webhook")
        ),
      ],
      problems: [.conflict, .preconditionFailed, .validationFailed],
      schemas: schemas
    )
  }

  static var deletion: RouteDescription {
    .administration(
      "deleteWebhook",
      parameters: [webhookName] + RouteParameter.writing,
      responses: [.done],
      problems: [.notFound, .conflict, .preconditionFailed]
    )
  }

  static var listingDeliveries: RouteDescription {
    .administration(
      "listDeliveries",
      parameters: [
        webhookName,
        RouteParameter(
          "status",
          in: .query,
          "Only deliveries with this status.",
          schema: ["enum": .array(DeliveryStatus.allCases.map { .string($0.name) })]
        ),
        RouteParameter(
          "limit",
          in: .query,
          "The most deliveries in a page. If there are more, the response field Link refers to the next page.",
          schema: ["type": "integer", "minimum": 1, "maximum": JSON(mostDeliveries), "default": 100]
        ),
        RouteParameter(
          "after",
          in: .query,
          "Where the page begins: the value in Link.",
          schema: ["type": "integer", "minimum": 1, "maximum": JSON(lastDelivery)]
        ),
      ],
      responses: [
        RouteResponse(
          .ok,
          "The page.",
          fields: [.cacheControl, .link],
          json: .schema(["items": .arraySchema(of: .reference("Delivery"))])
        )
      ],
      problems: [.notFound],
      schemas: deliverySchemas
    )
  }

  static var resending: RouteDescription {
    .administration(
      "resendDelivery",
      parameters: [
        webhookName, RouteParameter("id", in: .path, "The id of a delivery.", schema: .uuidSchema), .idempotencyKey,
      ],
      responses: [
        RouteResponse(.accepted, "The delivery is queued.", fields: [.cacheControl, .idempotencyReplayed])
      ],
      problems: [.notFound, .conflict]
    )
  }
}
