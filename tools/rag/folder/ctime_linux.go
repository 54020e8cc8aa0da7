package folder

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about the file changed last. A copy that keeps times and sizes changes it all the same.
func changeTime(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
