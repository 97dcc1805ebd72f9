//! What extends the program from outside: shell hooks, and plugins that are programs of their own.
