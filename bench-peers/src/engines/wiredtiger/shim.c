/* WiredTiger's interface is made of structures of function pointers. These few functions call through them, so that
 * the compiler takes the layout from the header, and Rust needs to know none of it. */

#include <stdlib.h>
#include <wiredtiger.h>

#define MAX_TREES 8

struct peer_session {
	WT_SESSION *session;
	WT_CURSOR *trees[MAX_TREES];
	int count;
};

int
peer_open(const char *home, const char *config, WT_CONNECTION **connection)
{
	return wiredtiger_open(home, NULL, config, connection);
}

int
peer_close(WT_CONNECTION *connection)
{
	return connection->close(connection, NULL);
}

const char *
peer_error(int code)
{
	return wiredtiger_strerror(code);
}

int
peer_create(WT_CONNECTION *connection, const char *uri, const char *config)
{
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return code;
	code = session->create(session, uri, config);
	closed = session->close(session, NULL);
	return code != 0 ? code : closed;
}

int
peer_checkpoint(WT_CONNECTION *connection)
{
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return code;
	code = session->checkpoint(session, NULL);
	closed = session->close(session, NULL);
	return code != 0 ? code : closed;
}

int
peer_session_close(struct peer_session *peer)
{
	/* Its cursors go with it. */
	int code = peer->session->close(peer->session, NULL);
	free(peer);
	return code;
}

int
peer_session_open(WT_CONNECTION *connection, const char *const *uris, int count, struct peer_session **result)
{
	struct peer_session *peer;
	int at, code;

	if (count > MAX_TREES || (peer = calloc(1, sizeof(*peer))) == NULL)
		return WT_ERROR;
	if ((code = connection->open_session(connection, NULL, NULL, &peer->session)) != 0) {
		free(peer);
		return code;
	}
	peer->count = count;
	for (at = 0; at < count; at++) {
		code = peer->session->open_cursor(peer->session, uris[at], NULL, NULL, &peer->trees[at]);
		if (code != 0) {
			(void)peer_session_close(peer);
			return code;
		}
	}
	*result = peer;
	return 0;
}

/* The default of WiredTiger 3.2 is read-committed, in which two updates of a value may both read the old one. */
int
peer_begin(struct peer_session *peer)
{
	return peer->session->begin_transaction(peer->session, "isolation=snapshot");
}

int
peer_commit(struct peer_session *peer)
{
	return peer->session->commit_transaction(peer->session, NULL);
}

int
peer_rollback(struct peer_session *peer)
{
	return peer->session->rollback_transaction(peer->session, NULL);
}

static void
set_key(WT_CURSOR *cursor, const void *key, size_t len)
{
	WT_ITEM item = { 0 };

	item.data = key;
	item.size = len;
	cursor->set_key(cursor, &item);
}

int
peer_insert(struct peer_session *peer, int tree, const void *key, size_t key_len, const void *value, size_t value_len)
{
	WT_CURSOR *cursor = peer->trees[tree];
	WT_ITEM item = { 0 };

	set_key(cursor, key, key_len);
	item.data = value;
	item.size = value_len;
	cursor->set_value(cursor, &item);
	return cursor->insert(cursor);
}

/* To the first key at or above this one; WT_NOTFOUND if there is none. */
int
peer_seek(struct peer_session *peer, int tree, const void *key, size_t len)
{
	WT_CURSOR *cursor = peer->trees[tree];
	int code, exact;

	set_key(cursor, key, len);
	if ((code = cursor->search_near(cursor, &exact)) != 0)
		return code;
	return exact < 0 ? cursor->next(cursor) : 0;
}

int
peer_next(struct peer_session *peer, int tree)
{
	return peer->trees[tree]->next(peer->trees[tree]);
}

/* The key that the cursor is on, until it moves. */
int
peer_key(struct peer_session *peer, int tree, const void **key, size_t *len)
{
	WT_ITEM item = { 0 };
	int code = peer->trees[tree]->get_key(peer->trees[tree], &item);

	*key = item.data;
	*len = item.size;
	return code;
}

/* The value that the cursor is on, until it moves. */
int
peer_value(struct peer_session *peer, int tree, const void **value, size_t *len)
{
	WT_ITEM item = { 0 };
	int code = peer->trees[tree]->get_value(peer->trees[tree], &item);

	*value = item.data;
	*len = item.size;
	return code;
}

int
peer_search(struct peer_session *peer, int tree, const void *key, size_t len)
{
	set_key(peer->trees[tree], key, len);
	return peer->trees[tree]->search(peer->trees[tree]);
}

/* The cursor is on the key. */
int
peer_remove(struct peer_session *peer, int tree, const void *key, size_t len)
{
	set_key(peer->trees[tree], key, len);
	return peer->trees[tree]->remove(peer->trees[tree]);
}

int
peer_reset(struct peer_session *peer, int tree)
{
	return peer->trees[tree]->reset(peer->trees[tree]);
}
