//! Model Context Protocol: the servers whose tools a session uses, and this program as a server.
