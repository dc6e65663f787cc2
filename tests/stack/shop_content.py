"""What the real storefront shows: the small site, a hundred products more, and a journal."""

from typing import Any

from .content import Document, reference, site, slug

ORIGINS = (
    "Antigua",
    "Boquete",
    "Cauca",
    "Gayo",
    "Huila",
    "Kirinyaga",
    "Kochere",
    "Nyeri",
    "Sidamo",
    "Tarrazú",
)
ROASTS = ("washed", "natural", "honey", "espresso roast", "decaf")
CUPS = (
    "Creamer",
    "Espresso cup",
    "Flat white cup",
    "Jug",
    "Latte bowl",
    "Mug",
    "Saucer",
    "Teapot",
    "Travel mug",
    "Tumbler",
)
GLAZES = ("ash", "cobalt", "moss", "rust", "sand")
BANNER_TEXT = "Twenty per cent off every coffee until Sunday."
FOOTER = "Roasted on Tuesdays, sent on Wednesdays. A shop that exists to be edited."
MENU_ITEMS = [
    {"label": "Home", "slug": "/home"},
    {"label": "Coffee", "slug": "/coffee"},
    {"label": "Moka pot", "slug": "/coffee/moka"},
    {"label": "Journal", "slug": "/journal/grinding"},
    {"label": "About us", "slug": "/about"},
]


def path_of(name: str, folder: str) -> str:
    """The path of a product, from its name."""
    return f"/{folder}/{name.lower().replace(' ', '-')}"


def coffees() -> list[Document]:
    """Fifty products that show the banner."""
    names = [f"{origin} {roast}" for origin in ORIGINS for roast in ROASTS]
    banner = reference("banner-sale")
    return [_product(number, name, "coffee", "9.80 €", banner=banner) for number, name in enumerate(names, 1)]


def cups() -> list[Document]:
    """Fifty products that do not."""
    names = [f"{cup} {glaze}" for cup in CUPS for glaze in GLAZES]
    return [_product(number, name, "cups", "14.00 €") for number, name in enumerate(names, 1)]


def _product(number: int, name: str, folder: str, price: str, **fields: Any) -> Document:
    return {
        "_id": f"{folder}-{number:02}",
        "_type": "product",
        "title": name,
        "text": f"{name}: one of many, so that it can be seen which pages an edit rebuilds and which it leaves alone.",
        "price": price,
        "slug": slug(path_of(name, folder)),
        "category": reference(folder),
        "menu": reference("menu-main"),
        "footer": reference("footer-main"),
    } | fields


def shop() -> list[Document]:
    """The small site with texts, in a shop of a hundred products more and a journal."""
    texts = {
        "home": "Coffee from ten places, and the cups to drink it from.",
        "about": "We roast in small batches and write down when each page was built.",
        "coffee": "Fifty coffees, from light to dark.",
        "moka": "Three cups, aluminium, for the stove. Edit me, and watch the plate below.",
        "beans": "A bag of whatever was roasted last.",
        "brewing": "Sixty grams a litre, water just off the boil, four minutes.",
    }
    everywhere = {"menu": reference("menu-main"), "footer": reference("footer-main")}
    pages = {"home", "about", "coffee", "moka", "beans", "brewing"}
    documents = [
        one | (everywhere | {"text": texts[one["_id"]]} if one["_id"] in pages else {}) for one in site()
    ]
    found = {one["_id"]: one for one in documents}
    found["banner-sale"]["text"] = BANNER_TEXT
    found["menu-main"] |= {"title": "Blackbird Coffee", "items": MENU_ITEMS}
    journal = {
        "_id": "grinding",
        "_type": "article",
        "title": "Grind later",
        "text": "Ground coffee is stale within the hour. This article is rendered by the App Router.",
        "slug": slug("/journal/grinding"),
        "author": reference("author-roastery"),
    }
    return [
        {"_id": "footer-main", "_type": "footer", "title": FOOTER},
        {"_id": "author-roastery", "_type": "author", "title": "the roastery"},
        {"_id": "cups", "_type": "category", "title": "Cups", "slug": slug("/cups")} | everywhere,
        *documents,
        journal | everywhere,
        *coffees(),
        *cups(),
    ]
