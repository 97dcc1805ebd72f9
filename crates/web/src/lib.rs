//! Fetches pages without reaching into the private network, reads them as Markdown, searches the web.
