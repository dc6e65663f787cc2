"""Debian's Chromium, headless, as a visitor of the storefront."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By

WINDOW = (1200, 860)
LOAD_SECONDS = 30

ARGUMENTS = (
    "--headless=new",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    # It talks to nobody but the storefront.
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@dataclass(frozen=True)
class Seen:
    """What a visitor sees of a page; of a page that is not there, its status and heading."""

    status: int
    title: str
    banner: str | None
    count: int | None
    slug: str | None


class Browser:
    """One window. `stop` ends it."""

    def __init__(self, screenshots: Path):
        """Screenshots are kept in that directory."""
        self._screenshots = screenshots
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # Chromium refuses to run as root inside its sandbox; what it shows here is our own.
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        for argument in (*ARGUMENTS, *root, f"--window-size={WINDOW[0]},{WINDOW[1]}"):
            options.add_argument(argument)
        self._driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        self._driver.set_page_load_timeout(LOAD_SECONDS)

    def open(self, address: str) -> Seen:
        """Asks for a page, as if the address was typed in, and answers what is seen."""
        self._driver.get(address)
        status = self._driver.execute_script(
            "return performance.getEntriesByType('navigation')[0].responseStatus"
        )
        count = self._text("[data-testid=count]")
        return Seen(
            status=status,
            title=self._text("h1") or "",
            banner=self._text("[data-testid=banner] strong"),
            count=int(count) if count else None,
            slug=self._text("[data-testid=slug]"),
        )

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that a CSS selector finds."""
        return [element.text for element in self._driver.find_elements(By.CSS_SELECTOR, selector)]

    def keep(self, name: str, height: int = WINDOW[1]) -> None:
        """A screenshot of what is seen now."""
        self._driver.set_window_size(WINDOW[0], height)
        self._driver.save_screenshot(str(self._screenshots / f"{name}.png"))
        self._driver.set_window_size(*WINDOW)

    def _text(self, selector: str) -> str | None:
        found = self.texts(selector)
        return found[0] if found else None

    def stop(self) -> None:
        """Closes the window and ends Chromium and its driver."""
        self._driver.quit()
