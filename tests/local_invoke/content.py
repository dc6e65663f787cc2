"""The small made-up shop that the samples of events/ are about: its edits, and what Sanity shows after all of them."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

PROJECT = "c4sc4t4x"
DATASET = "production"


@dataclass(frozen=True)
class Edit:
    """One revision of one document, written or deleted."""

    document_id: str
    document_type: str
    revision: str
    updated_at: str
    operation: str = "update"
    slug: str | None = None
    previous_slug: str | None = None
    previous_revision: str | None = None

    @property
    def second(self) -> int:
        """`_updatedAt` in epoch seconds."""
        return int(datetime.fromisoformat(self.updated_at).timestamp())

    @property
    def document_key(self) -> str:
        """The document's partition in the outbox."""
        return "DOC#" + _hash("document", PROJECT, DATASET, self.document_id)[:32]

    def event_id(self, signed_at: int | None = None) -> str:
        """The event's id. `signed_at` (milliseconds) joins where an unsigned header says project, dataset or operation."""
        kind = "delete" if self.operation == "delete" else "write"
        parts = ["1", PROJECT, DATASET, self.document_id, kind, "revision", self.revision]
        if signed_at is not None:
            parts += ["signed", str(signed_at)]
        return "evt_" + _hash("event", *parts)[:40]

    def sort_key(self, event_id: str) -> str:
        """The sort key of the event's outbox item."""
        return f"E#{self.second:012}#{event_id}"

    def projected(self) -> dict:
        """The body of a hook with the projection that README.md recommends."""
        return {
            "_id": self.document_id,
            "_type": self.document_type,
            "_rev": self.revision,
            "_updatedAt": self.updated_at,
            "operation": self.operation,
            "slug": self.slug,
            "previousSlug": self.previous_slug,
            "previousRev": self.previous_revision,
            "project": PROJECT,
            "dataset": DATASET,
        }


def _hash(*parts: str) -> str:
    """The ledger's hash of a list of texts (functions/ledger/src/identity.rs)."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _revision(name: str) -> str:
    """A revision of Sanity's form: 22 letters and digits."""
    return hashlib.sha256(name.encode()).hexdigest()[:22]


MOKA_PUBLISHED = Edit(
    "product-moka", "product", _revision("moka 1"), "2025-11-03T09:00:00Z", "create", "moka-pot"
)
# Arrives after the next one, though it happened before it.
MOKA_DELAYED = Edit(
    "product-moka", "product", _revision("moka 2"), "2025-11-03T09:02:00Z", "update", "moka-pot-3-cups", "moka-pot",
    MOKA_PUBLISHED.revision,
)
MOKA_RENAMED = Edit(
    "product-moka", "product", _revision("moka 3"), "2025-11-03T09:05:00Z", "update", "moka-express", "moka-pot-3-cups",
    MOKA_DELAYED.revision,
)
ARTICLE = Edit("article-brewing", "article", _revision("article 1"), "2025-11-03T09:10:00Z", "update", "how-to-brew")
CATEGORY = Edit(
    "category-kettles", "category", _revision("category 1"), "2025-11-03T09:15:00Z", "update", "kettles", "kettles"
)
ABOUT = Edit("page-about", "page", _revision("about 1"), "2025-11-03T09:20:00Z", "update", "about", "about")
SALE_DELETED = Edit(
    "page-summer-sale", "page", _revision("sale 1"), "2025-11-03T09:25:00Z", "delete", None, "summer-sale",
    _revision("sale 1"),
)
BANNER = Edit("banner-winter", "banner", _revision("banner 1"), "2025-11-03T09:30:00Z")
TESTIMONIAL = Edit("testimonial-ada", "testimonial", _revision("testimonial 1"), "2025-11-03T09:35:00Z", "create")
FILE = Edit(
    "file-3b1f2c9d8e7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c-pdf", "sanity.fileAsset", _revision("file 1"), "2025-11-03T09:40:00Z",
    "create",
)
DRAFT = Edit(
    "drafts.product-moka", "product", _revision("draft 1"), "2025-11-03T09:45:00Z", "update", "moka-espresso",
    "moka-express",
)


def reference(document_id: str) -> dict:
    """A reference as Sanity stores it."""
    return {"_type": "reference", "_ref": document_id}


def document(edit: Edit, **fields) -> dict:
    """A whole document as Sanity stores it."""
    slug = {"slug": {"_type": "slug", "current": edit.slug}} if edit.slug else {}
    return {
        "_id": edit.document_id,
        "_type": edit.document_type,
        "_rev": edit.revision,
        "_createdAt": "2025-10-01T08:00:00Z",
        "_updatedAt": edit.updated_at,
        **slug,
        **fields,
    }


ARTICLE_DOCUMENT = document(
    ARTICLE,
    title="How to brew caffè at home ☕",
    banner=reference(BANNER.document_id),
    body=[{"_type": "block", "_key": "a1", "children": [{"_type": "span", "_key": "b1", "text": "Fill it to the valve."}]}],
)

# What Sanity's query API shows once every edit above has happened. The deleted page is not there.
PUBLISHED = [
    document(MOKA_RENAMED, title="Moka Express", category=reference(CATEGORY.document_id)),
    ARTICLE_DOCUMENT,
    document(CATEGORY, title="Kettles"),
    document(ABOUT, title="About us", sections=[{"_key": "s1", "banner": reference(BANNER.document_id)}]),
    document(BANNER, title="Winter"),
    document(TESTIMONIAL, quote="The best coffee in town."),
]
