package access

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A caller gets its requests per minute, and learns when to send the next one. Others are not slowed down. A changed limit holds.
func TestRequestsOfACallerAreLimited(t *testing.T) {
	alice, alices := made(t, "alice")
	bob, bobs := made(t, "bob")
	file := "keys:\n" + strings.TrimSuffix(alices, "}") + ", requests_per_minute: 12}\n" + bobs
	b := controlled(t, file, Options{})
	codes := func(secret string, n int) (all []int) {
		for range n {
			all = append(all, b.ask("GET", "", bearer(secret)...).Code)
		}
		return all
	}
	require.Equal(t, []int{200, 200, 429, 429}, codes(alice, 4))
	refused := b.ask("GET", "", bearer(alice)...)
	require.Equal(t, "5", refused.Header().Get("Retry-After"))
	require.Equal(t, []int{200, 200, 200}, codes(bob, 3))
	b.clock.pass(5 * time.Second)
	require.Equal(t, []int{200, 429}, codes(alice, 2))
	b.write(strings.Replace(file, "minute: 12", "minute: 600", 1))
	b.clock.pass(time.Second)
	codes(alice, 1) // from here, the new limit holds
	b.clock.pass(time.Second)
	require.NotContains(t, codes(alice, 10), 429)
}

// Wrong credentials of one address are limited, in answers and in the log. A right one is accepted, because many clients may have this address.
func TestWrongCredentialsOfAnAddressAreLimited(t *testing.T) {
	secret, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+entry, Options{})
	from := func(address, secret string) int {
		r := request("GET", "", append(bearer(secret), "X-Forwarded-For", strconv.Itoa(b.log.Len()))...)
		r.RemoteAddr = address
		w := httptest.NewRecorder()
		b.Handler(whoami).ServeHTTP(w, r)
		return w.Code
	}
	count := map[int]int{}
	for i := range 100 {
		count[from("192.0.2.1:"+strconv.Itoa(1000+i), "wrong")]++
	}
	require.Equal(t, map[int]int{401: failuresPerMinute / 6, 429: 100 - failuresPerMinute/6}, count)
	require.Equal(t, failuresPerMinute/6, strings.Count(b.log.String(), "\n"))
	require.Equal(t, http.StatusOK, from("192.0.2.1:1", secret))
	require.Equal(t, http.StatusUnauthorized, from("192.0.2.2:1", "wrong"))
	for range 100 {
		from("[2001:db8::1]:1", "wrong")
	}
	require.Equal(t, http.StatusTooManyRequests, from("[2001:db8::2]:1", "wrong"), "one network")
	require.Equal(t, http.StatusUnauthorized, from("[2001:db8:0:1::1]:1", "wrong"))
	for range 100 {
		require.Equal(t, http.StatusUnauthorized, b.ask("GET", "").Code, "no key is no wrong key")
	}
	w := httptest.NewRecorder()
	for range 100 {
		_, refused := b.Login(w, request("POST", ""), "wrong")
		w.Code = refused.Status
	}
	require.Equal(t, http.StatusTooManyRequests, w.Code, "the form is no way around it")
}

// So many requests of a caller may run at once, and those of others run beside them.
func TestRunningRequestsOfACallerAreLimited(t *testing.T) {
	alice, alices := made(t, "alice")
	bob, bobs := made(t, "bob")
	b := controlled(t, "keys:\n"+strings.TrimSuffix(alices, "}")+", requests_per_minute: 6000}\n"+bobs, Options{})
	begun, end, ended := make(chan bool), make(chan bool), make(chan bool)
	stream := b.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- true
		<-end
	}))
	for range maxRunning {
		go func() {
			stream.ServeHTTP(httptest.NewRecorder(), request("GET", "", bearer(alice)...))
			ended <- true
		}()
		<-begun
	}
	require.Equal(t, http.StatusTooManyRequests, b.ask("GET", "", bearer(alice)...).Code)
	require.Equal(t, http.StatusOK, b.ask("GET", "", bearer(bob)...).Code)
	end <- true
	<-ended
	require.Equal(t, http.StatusOK, b.ask("GET", "", bearer(alice)...).Code)
	close(end)
	for range maxRunning - 1 {
		<-ended
	}
	require.Empty(t, b.running.count)
}

// The number of callers and addresses that are counted is bounded.
func TestCountersAreBounded(t *testing.T) {
	limits := newRateLimits()
	for i := range 3 * maxLimited {
		limits.take(strconv.Itoa(i), 60, time.Unix(0, 0))
	}
	limits.all.CleanUp()
	require.LessOrEqual(t, limits.all.EstimatedSize(), maxLimited)
}

// A body has at most as many bytes as the caller's limit, whether its length is announced or not.
func TestLargeBodiesAreRefused(t *testing.T) {
	secret, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+strings.TrimSuffix(entry, "}")+", max_body: 1KB}", Options{})
	for size, want := range map[int]int{0: 200, 1024: 200, 1025: 413, 10 << 20: 413} {
		body := strings.Repeat("x", size)
		require.Equal(t, want, b.ask("POST", body, bearer(secret)...).Code, size)
		r := request("POST", body, bearer(secret)...)
		r.ContentLength = -1
		w := httptest.NewRecorder()
		b.Handler(whoami).ServeHTTP(w, r)
		require.Equal(t, want, w.Code, "%d without its length", size)
	}
	w := httptest.NewRecorder()
	controlled(t, "", Options{}).Handler(whoami).ServeHTTP(w, request("POST", strings.Repeat("x", 10<<20)))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, "the default")
	w = httptest.NewRecorder()
	b.Public(whoami).ServeHTTP(w, request("POST", strings.Repeat("x", maxPublicBody+1)))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, "before a caller is known")
}

// The server answers refusals in the form of its API.
func TestRefusalsHaveTheFormOfTheAPI(t *testing.T) {
	_, entry := made(t, "alice")
	b := controlled(t, "keys:\n"+entry, Options{OnError: func(w http.ResponseWriter, _ *http.Request, e *Error) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.Status)
		_, _ = w.Write([]byte(`{"code":"` + e.Code + `"}`))
	}})
	answer := b.ask("GET", "")
	require.Equal(t, http.StatusUnauthorized, answer.Code)
	require.JSONEq(t, `{"code":"invalid_api_key"}`, answer.Body.String())
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
}
