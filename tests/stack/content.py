"""A small site for the content lake: routed pages of every kind, and components that appear on them."""

from typing import Any

Document = dict[str, Any]


def slug(path: str) -> Document:
    """A slug as Sanity stores it."""
    return {"_type": "slug", "current": path.lstrip("/")}


def reference(document_id: str) -> Document:
    """A reference as Sanity stores it."""
    return {"_type": "reference", "_ref": document_id}


def site() -> list[Document]:
    """Two pages, a category, two products and an article; a banner on three of them, a menu on two."""
    return [
        {"_id": "banner-sale", "_type": "banner", "title": "Winter sale"},
        {"_id": "menu-main", "_type": "menu", "title": "Main menu"},
        {
            "_id": "home",
            "_type": "page",
            "title": "Home",
            "slug": slug("/home"),
            "banner": reference("banner-sale"),
            "menu": reference("menu-main"),
        },
        {
            "_id": "about",
            "_type": "page",
            "title": "About us",
            "slug": slug("/about"),
            "menu": reference("menu-main"),
        },
        {"_id": "coffee", "_type": "category", "title": "Coffee", "slug": slug("/coffee")},
        {
            "_id": "moka",
            "_type": "product",
            "title": "Moka pot",
            "slug": slug("/coffee/moka"),
            "category": reference("coffee"),
            "banner": reference("banner-sale"),
        },
        {
            "_id": "beans",
            "_type": "product",
            "title": "Beans",
            "slug": slug("/coffee/beans"),
            "category": reference("coffee"),
        },
        {
            "_id": "brewing",
            "_type": "article",
            "title": "How to brew",
            "slug": slug("/how-to-brew"),
            "banner": reference("banner-sale"),
        },
    ]
