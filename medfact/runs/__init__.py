"""From a spec to answers on disk: what is asked, its price, the asking, and the processes that do it."""
