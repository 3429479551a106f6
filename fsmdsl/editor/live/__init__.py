"""`fsm serve`: a page to edit, draw, verify and simulate specs, for the person at this machine alone.

The server keeps no text of its own: each page sends what is typed with each question, and files change only when a
person saves. `questions` has what a page asks and the answers, `app` the routes, `guard` says who may ask, `static` is
the page. `playground` answers the same page inside a browser, without a server (`editors/playground` builds it).
"""
