"""Why a model cannot be taken over."""


class Refusal(Exception):
    """Its text is for the user: what is in the way, and the way out."""
