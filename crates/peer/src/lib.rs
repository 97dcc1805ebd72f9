//! A program that speaks JSON-RPC on its standard input and output: started, called within a time, stopped.
