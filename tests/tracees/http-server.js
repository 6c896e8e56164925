// http-server.js SOCKET: a server of node, whose pool of threads compresses something for each answer.
//
// GET /?SEQ&LENGTH&SEED&MS is answered after MS milliseconds with LENGTH bytes that SEQ and SEED determine.  Speaks the
// protocol of tracee.h on stdin and stdout.
const http = require("http");
const zlib = require("zlib");

const server = http.createServer((request, response) => {
	const [seq, length, seed, ms] = request.url.split("?")[1].split("&").map(Number);
	const text = `${seq}:${seed} `.repeat(length).slice(0, length);
	zlib.deflate(text, (error, packed) => {
		setTimeout(() => {
			response.setHeader("X-Seq", seq);
			response.end(error ? String(error) : zlib.inflateSync(packed));
		}, ms);
	});
});
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
server.headersTimeout = 0;
server.listen(process.argv[2], () => console.log("ready"));
process.stdin.on("end", () => {
	console.log("alive");
	process.exit(0);
});
process.stdin.resume();
