#!/bin/sh
# PHP's own web server: one thread, in poll(), under a container's system call filter.  Pages that sleep
# are as long as they should be.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
need php

cat >"$dir/page.php" <<'PAGE'
<?php
# Enough garbage that there is something to trim.
$kept = [];
for ($i = 0; $i < 20000; $i++) { $kept[] = str_repeat("x", 3000); }
unset($kept);
usleep(300000);
echo str_repeat("line\n", 100), "PAGE\n";
PAGE
port=$(free_port)
USE_ZEND_ALLOC=0 "$TRACEES/contained" php -n -S "127.0.0.1:$port" "$dir/page.php" >"$dir/log" 2>&1 &
server=$!
started="$started $server"
wait_until_connected "$port" || {
	cat "$dir/log"
	skip_all 'php -S does not start'
}
start_client php "$port"
visit $server info heap trim 'count start' 'count stop' trim
check 'it goes on' lives $server
kill $server
finish
