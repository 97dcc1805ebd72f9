"""The tools of the session, for this script. Each call returns what the tool returned, as a dict where it is JSON."""
import json as _json
import os as _os
import shlex as _shlex
import socket as _socket
import threading as _threading
import time as _time

_lock = _threading.Lock()


def _call(tool, **args):
    args = {name: value for name, value in args.items() if value is not None}
    with _lock, _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM) as door:
        door.connect(_os.path.join(_os.environ["TALARIA_TOOLS"], "door"))
        door.sendall(_json.dumps({"tool": tool, "args": args}).encode())
        door.shutdown(_socket.SHUT_WR)
        parts = []
        while True:
            part = door.recv(65536)
            if not part:
                break
            parts.append(part)
    result = _json.loads(b"".join(parts).decode())["result"]
    try:
        return _json.loads(result)
    except ValueError:
        return result


def web_search(query, limit=None):
    return _call("web_search", query=query, limit=limit)


def web_extract(urls):
    return _call("web_extract", urls=[urls] if isinstance(urls, str) else list(urls))


def read_file(path, offset=None, limit=None):
    return _call("read_file", path=path, offset=offset, limit=limit)


def write_file(path, content):
    return _call("write_file", path=path, content=content)


def search_files(pattern, target=None, path=None, file_glob=None, limit=None, offset=None, output_mode=None,
                 context=None):
    return _call("search_files", pattern=pattern, target=target, path=path, file_glob=file_glob, limit=limit,
                 offset=offset, output_mode=output_mode, context=context)


def patch(path=None, old_string=None, new_string=None, replace_all=None, mode=None, patch=None):
    return _call("patch", path=path, old_string=old_string, new_string=new_string, replace_all=replace_all,
                 mode=mode, patch=patch)


def terminal(command, timeout=None, workdir=None):
    return _call("terminal", command=command, timeout=timeout, workdir=workdir)


def json_parse(text):
    """Reads JSON, control characters inside of texts included."""
    return _json.loads(text, strict=False)


def shell_quote(text):
    return _shlex.quote(str(text))


def retry(call, max_attempts=3, delay=2):
    """Calls until it does not raise, waiting twice as long each time."""
    for attempt in range(max_attempts):
        try:
            return call()
        except Exception:
            if attempt + 1 == max_attempts:
                raise
            _time.sleep(delay * 2 ** attempt)
