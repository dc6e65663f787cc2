"""The stack's neighbours: a content lake, stand-ins for Stellate and a storefront, and whoever sends webhooks."""
