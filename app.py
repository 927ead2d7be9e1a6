"""The door for a browser: `python app.py`, then open the address that it prints."""

if __name__ == "__main__":
    from medfact.ui.app import serve

    serve()
